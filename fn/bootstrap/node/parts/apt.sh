apt() {
	retry env DEBIAN_FRONTEND=noninteractive apt-get -qy -o APT::Update::Error-Mode=any \
		-o DPkg::Lock::Timeout=60 -o Dpkg::Options::=--force-confdef -o Dpkg::Options::=--force-confold "$@"
}

apt_source() {
	retry curl -fsSL --connect-timeout 10 --max-time 60 -o "$root/etc/l2cluster.key" "$2"
	replace "$root/etc/apt/keyrings/$1.asc" <"$root/etc/l2cluster.key"
	rm "$root/etc/l2cluster.key"
	replace "$root/etc/apt/sources.list.d/$1.list" <<-END
		deb [signed-by=/etc/apt/keyrings/$1.asc] $3
	END
}

install() {
	apt update
	apt install ca-certificates curl
	apt_source kubernetes "$repository/$minor/deb/Release.key" "$repository/$minor/deb/ /"
	runtime=
	if [ "$(containerd_major)" -lt "$containerd" ]; then
		candidate=$(apt-cache policy containerd | awk '$1 == "Candidate:" { sub(/\..*/, "", $2); print $2 }')
		case $candidate in
		'' | *[!0-9]*) candidate=0 ;;
		esac
		runtime=containerd
		if [ "$candidate" -lt "$containerd" ]; then
			runtime=containerd.io
			# shellcheck source=/dev/null
			docker=$(. "$root/etc/os-release" && echo "https://download.docker.com/linux/$ID $VERSION_CODENAME stable")
			apt_source docker "${docker%% *}/gpg" "$docker"
		fi
	fi
	apt update
	apt install --allow-change-held-packages $runtime \
		"kubelet=${version#v}-*" "kubeadm=${version#v}-*" "kubectl=${version#v}-*"
	apt-mark -q hold kubelet kubeadm kubectl
}

